# A function declared in a header begins with zd_ and the header's name: zd_shards_find in shards.h, where zd_shard_ is
# as good, and zd_config_read as well as zd_config_args_read in config_args.h. A tag has one definition.
cmake_minimum_required(VERSION 3.25)

# Vocabulary of every line: names as short as those of the C library that they stand for or add to, and the type of a step.
set(vocabulary
    "core/base/own.h=(alloc|alloc_zero|alloc_count|alloc_fail_at|realloc|strdup|strndup|free)"
    "core/base/status.h=(fail|fail_[a-z]+|fact_[a-z]+)"
    "core/base/buf.h=span_[a-z]+"
    "server/request/request.h=step"
    "core/base/num.h=((min|max|load|store)_u[0-9]+|div_up|product_overflows|prefetch)")


string(ASCII 1 comment_begin)
string(ASCII 2 comment_end)
set(failures "")

# The declarations of a file: without comments, macros and all that stands in braces.
function(read_declarations path ret_text)
    file(READ ${path} text)
    string(REPLACE "/*" "${comment_begin}" text "${text}")
    string(REPLACE "*/" "${comment_end}" text "${text}")
    string(REGEX REPLACE "${comment_begin}[^${comment_end}]*${comment_end}" "" text "${text}")
    string(REPLACE "\\\n" " " text "${text}")
    string(REGEX REPLACE "\n#[^\n]*" "" text "\n${text}")
    set(before "")
    while(NOT text STREQUAL before)
        set(before "${text}")
        string(REGEX REPLACE "{[^{}]*}" "" text "${text}")
    endwhile()
    set(${ret_text} "${text}" PARENT_SCOPE)
endfunction()

# "chunk_key" -> chunk, chunks, chunk_key, chunk_keys; "shards" -> shard, shards.
function(beginnings stem ret_pattern)
    string(REPLACE "_" ";" words ${stem})
    set(part "")
    set(parts "")
    foreach(word ${words})
        string(APPEND part ${word})
        string(REGEX REPLACE "s$" "" singular ${part})
        list(APPEND parts "${singular}s?")
        string(APPEND part "_")
    endforeach()
    list(JOIN parts "|" parts)
    set(${ret_pattern} "^zd_(${parts})(_|$)" PARENT_SCOPE)
endfunction()

foreach(exception ${vocabulary})
    string(REGEX MATCH "^([^=]+)=(.*)$" match ${exception})
    set("also_${CMAKE_MATCH_1}" "^zd_${CMAKE_MATCH_2}$")
endforeach()

file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/core/*.[ch] ${ROOT}/server/*.[ch])
foreach(source ${sources})
    file(STRINGS ${ROOT}/${source} definitions REGEX "^(struct|enum|union) zd_[a-z0-9_]+ {")
    foreach(definition ${definitions})
        string(REGEX MATCH "zd_[a-z0-9_]+" tag "${definition}")
        if(DEFINED "home_${tag}")
            list(APPEND failures "${source}: ${tag} is defined in ${home_${tag}}, too")
        endif()
        set("home_${tag}" ${source})
    endforeach()
    if(NOT source MATCHES "\\.h$")
        continue()
    endif()
    get_filename_component(stem ${source} NAME_WE)
    beginnings(${stem} pattern)
    read_declarations(${ROOT}/${source} text)
    string(REGEX MATCHALL "zd_[a-z0-9_]+ ?\\(" functions "${text}")
    foreach(function ${functions})
        string(REGEX REPLACE " ?\\($" "" function "${function}")
        if(NOT function MATCHES "${pattern}" AND NOT
                (DEFINED "also_${source}" AND function MATCHES "${also_${source}}"))
            list(APPEND failures "${source}: ${function} does not begin with zd_${stem}_")
        endif()
    endforeach()
endforeach()

foreach(failure ${failures})
    message("${failure}")
endforeach()
if(failures)
    message(FATAL_ERROR "names do not lead to their files")
endif()
