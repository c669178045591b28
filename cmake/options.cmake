# zd_options: language, warnings and sanitizers for every target of the project.
# Texts are cut at their size on purpose, so -Wformat-truncation is off.
get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT CMAKE_BUILD_TYPE AND NOT multi_config)
    message(STATUS "No CMAKE_BUILD_TYPE was given: this is a Release build")
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
endif()

option(ZD_TESTS "build the tests (needs Check)" ON)
option(ZD_BENCH "build what tests/bench/run needs, without the other tests" OFF)
option(ZD_WERROR "warnings are errors" OFF)
option(ZD_STATIC "one static program; run deploy/microhttpd first" OFF)
option(ZD_FUZZ "build the fuzz targets with libFuzzer (Clang)" OFF)
set(ZD_SANITIZE "" CACHE STRING "sanitizers, e.g. address,undefined or thread")

add_library(zd_options INTERFACE)
target_compile_features(zd_options INTERFACE c_std_17)
target_include_directories(zd_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_definitions(zd_options INTERFACE _GNU_SOURCE)
target_compile_options(zd_options INTERFACE
    -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings
    -Wvla -Wformat=2 -Wno-format-truncation -Wundef -fno-strict-aliasing -fno-common -fstack-protector-strong)
if(ZD_WERROR)
    target_compile_options(zd_options INTERFACE -Werror)
endif()
if(ZD_SANITIZE)
    target_compile_options(zd_options INTERFACE
        -fsanitize=${ZD_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(zd_options INTERFACE -fsanitize=${ZD_SANITIZE})
endif()
if(ZD_FUZZ)
    target_compile_options(zd_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
