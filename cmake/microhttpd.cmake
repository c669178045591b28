# zd_microhttpd: the archive of libmicrohttpd that pkg-config finds, which reads and sends by server/front/wire.c. The calls are renamed
# in a copy of the archive, so all other libraries keep the C library's.
set(ZD_WIRE_CALLS recv send sendmsg sendfile64)

find_library(ZD_MICROHTTPD_ARCHIVE libmicrohttpd.a HINTS ${MICROHTTPD_LIBDIR} NO_CACHE)
if(NOT ZD_MICROHTTPD_ARCHIVE)
    message(FATAL_ERROR "libmicrohttpd.a is not in ${MICROHTTPD_LIBDIR}. Install the archive of libmicrohttpd (Debian: "
        "libmicrohttpd-dev), or run deploy/microhttpd and set PKG_CONFIG_PATH to build/microhttpd/lib/pkgconfig.")
endif()

set(ZD_WIRE_ARCHIVE ${CMAKE_BINARY_DIR}/microhttpd/libmicrohttpd.a)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/microhttpd)
set(renames "")
foreach(call ${ZD_WIRE_CALLS})
    list(APPEND renames --redefine-sym ${call}=zd_wire_${call})
endforeach()
add_custom_command(OUTPUT ${ZD_WIRE_ARCHIVE}
    COMMAND ${CMAKE_OBJCOPY} ${renames} ${ZD_MICROHTTPD_ARCHIVE} ${ZD_WIRE_ARCHIVE}
    DEPENDS ${ZD_MICROHTTPD_ARCHIVE} ${CMAKE_CURRENT_LIST_FILE} VERBATIM)
add_custom_target(zd_wire_archive DEPENDS ${ZD_WIRE_ARCHIVE})

add_library(zd_microhttpd STATIC IMPORTED)
add_dependencies(zd_microhttpd zd_wire_archive)
set_target_properties(zd_microhttpd PROPERTIES IMPORTED_LOCATION ${ZD_WIRE_ARCHIVE})
target_include_directories(zd_microhttpd INTERFACE ${MICROHTTPD_INCLUDE_DIRS})
target_link_libraries(zd_microhttpd INTERFACE $<LINK_ONLY:zd_server>) # each needs the other
# Debian's archive can speak TLS, which zarrd never asks for.
if("gnutls" IN_LIST MICROHTTPD_STATIC_LIBRARIES)
    pkg_check_modules(GNUTLS REQUIRED IMPORTED_TARGET gnutls)
    target_link_libraries(zd_microhttpd INTERFACE $<LINK_ONLY:PkgConfig::GNUTLS>)
endif()
