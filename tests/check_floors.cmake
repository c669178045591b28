# A file includes its own floor and the floors below it, of core/ and of server/. No modules (x.c with x.h) include each other in
# a circle. A library header is included only where it is walled in.
cmake_minimum_required(VERSION 3.25)
set(floor_base base)
set(floor_grid base grid)
set(floor_extension base grid extension)
set(floor_codec base grid extension codec)
set(floor_dialect base grid extension codec dialect)
set(floor_array base grid extension codec dialect array)
set(floor_store base store)
# The rooms of server/, lowest first; files directly in server/ are above them all.
set(rooms config http format runtime data write request describe slice handler front)
# Upward includes and circles that are to go.
set(waived_includes
    "server/handler/handler_chunks_write.c server/front/reply.h"
    "server/handler/handler_events.c server/front/front.h"
    "server/handler/handler_keys.c server/front/reply_cache.h"
    "server/handler/handler_keys_write.c server/front/reply.h"
    "server/handler/handler_slice_write.c server/front/reply.h"
    "server/handler/handler_tree.c server/front/reply_cache.h"
    "server/request/admit.c server/front/front.h"
    "server/request/dispatch.c server/front/reply.h"
    "server/request/request.c server/front/front.h"
    "server/request/stream.c server/front/front.h"
    "server/request/upload.c server/front/front.h"
    "server/runtime/log.c server/request/request.h"
    "server/runtime/metrics.c server/front/front.h"
    "server/runtime/metrics.c server/request/route.h"
    "server/runtime/metrics.c server/request/admit.h")
set(circles_are_waived ON)
set(failures "")
set(modules "")

file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/core/*.[ch] ${ROOT}/server/*.[ch])
set(names "")
foreach(source ${sources})
    get_filename_component(name ${source} NAME)
    if(name IN_LIST names)
        list(APPEND failures "${source}: the file name is not unique")
    endif()
    list(APPEND names ${name})
    string(REGEX REPLACE "\\.[ch]$" "" module ${source})
    list(APPEND modules ${module})
    set(room -1)
    if(source MATCHES "^server/([a-z]+)/")
        list(FIND rooms "${CMAKE_MATCH_1}" room)
        if(room LESS 0)
            list(APPEND failures "${source}: ${CMAKE_MATCH_1} is not a room of tests/check_floors.cmake")
        endif()
    endif()
    file(STRINGS ${ROOT}/${source} lines REGEX "^#include")
    foreach(line ${lines})
        if(source MATCHES "^core/([a-z]+)/")
            set(floor ${CMAKE_MATCH_1})
            if(line MATCHES "\"server/")
                list(APPEND failures "${source}: core includes server: ${line}")
            elseif(line MATCHES "\"core/([a-z]+)/" AND NOT CMAKE_MATCH_1 IN_LIST floor_${floor})
                list(APPEND failures "${source}: an upward include: ${line}")
            endif()
        endif()
        if(line MATCHES "\"((core|server)/[^\"]+)\\.h\"")
            set(included ${CMAKE_MATCH_1})
            if(NOT included STREQUAL module)
                list(APPEND includes_of_${module} ${included})
            endif()
            set(other -1)
            if(included MATCHES "^server/([a-z]+)/")
                list(FIND rooms "${CMAKE_MATCH_1}" other)
            elseif(included MATCHES "^server/")
                set(other 99)
            endif()
            if(room GREATER -1 AND other GREATER room AND NOT "${source} ${included}.h" IN_LIST waived_includes)
                list(APPEND failures "${source}: an upward include: ${line}")
            endif()
        endif()
        if(line MATCHES "\"" AND NOT line MATCHES "\"(core|server)/")
            list(APPEND failures "${source}: not by its full path: ${line}")
        endif()
        foreach(wall "jansson=core/base/json.c" "xxhash=core/base/hash.c" "zstd=core/codec/codec_zstd.c|server/http/compress.c"
                "blosc=core/codec/codec_blosc.c" "lz4=core/codec/blosc_part.c" "libdeflate=core/codec/codec_gzip.c|server/http/compress.c"
                "microhttpd=server/front/.*")
            string(REPLACE "=" ";" pair ${wall})
            list(GET pair 0 library)
            list(GET pair 1 homes)
            if(line MATCHES "<${library}" AND NOT source MATCHES "^(${homes})$")
                list(APPEND failures "${source}: <${library}> belongs in ${homes}")
            endif()
        endforeach()
    endforeach()
    file(STRINGS ${ROOT}/${source} banned
        REGEX "(^|[^_a-z])(sprintf|strcpy|strcat|strtok|atoi|atol|sscanf|localtime|alloca|gets|strtol|malloc|calloc|realloc|strdup) ?\\(")
    foreach(line ${banned})
        if(NOT source STREQUAL "core/base/own.c")
            list(APPEND failures "${source}: a function we do not use: ${line}")
        endif()
    endforeach()
endforeach()

# A module that includes nothing that is left is taken away, then one that nothing left includes: what stays is in a circle, or
# between two.
list(REMOVE_DUPLICATES modules)
set(n_before 0)
list(LENGTH modules n_modules)
while(NOT n_before EQUAL n_modules)
    set(n_before ${n_modules})
    foreach(module ${modules})
        set(is_needed OFF)
        set(needs OFF)
        foreach(other ${modules})
            if(module IN_LIST includes_of_${other})
                set(is_needed ON)
            endif()
            if(other IN_LIST includes_of_${module})
                set(needs ON)
            endif()
        endforeach()
        if(NOT needs OR NOT is_needed)
            list(REMOVE_ITEM modules ${module})
        endif()
    endforeach()
    list(LENGTH modules n_modules)
endwhile()
if(modules AND NOT circles_are_waived)
    string(REPLACE ";" " " circle "${modules}")
    list(APPEND failures "modules that include each other in a circle: ${circle}")
endif()

foreach(failure ${failures})
    message("${failure}")
endforeach()
if(failures)
    message(FATAL_ERROR "the floors are broken")
endif()
