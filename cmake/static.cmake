# ZD_STATIC: one program that needs nothing of the machine but its kernel (static-pie), made of Debian's archives and of the
# libraries of deploy/microhttpd and deploy/curl. Names of hosts would need the C library's modules at run time: addresses to listen
# on are literal, and stores are looked up by c-ares.
set(ENV{PKG_CONFIG_PATH}
    ${CMAKE_SOURCE_DIR}/build/microhttpd/lib/pkgconfig:${CMAKE_SOURCE_DIR}/build/curl/lib/pkgconfig:$ENV{PKG_CONFIG_PATH})
set(PKG_CONFIG_ARGN --static)
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# Relocations of pointers take a byte each, not 24; static.ld leaves more out.
set(ZD_STATIC_LINK -static-pie LINKER:-z,pack-relative-relocs LINKER:-T,${CMAKE_SOURCE_DIR}/cmake/static.ld)

# What Debian's libblosc.a is made with; its pkg-config file does not say.
function(zd_static_blosc)
    foreach(name lz4 snappy z zstd)
        find_library(ZD_STATIC_${name} ${name} REQUIRED)
        target_link_libraries(PkgConfig::BLOSC INTERFACE ${ZD_STATIC_${name}})
    endforeach()
    target_link_libraries(PkgConfig::BLOSC INTERFACE stdc++)
endfunction()
