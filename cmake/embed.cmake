# Files that the binary carries: openapi.yaml as JSON and the pages of server/web, each as a C array.
# zd_embed(symbol file): defines `const unsigned char SYMBOL[]` and `const size_t SYMBOL_len`.
function(zd_embed target symbol file)
    set(output ${CMAKE_BINARY_DIR}/embed/${symbol}.c)
    add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -DINPUT=${file} -DOUTPUT=${output} -DSYMBOL=${symbol}
            -P ${CMAKE_SOURCE_DIR}/cmake/embed_file.cmake
        DEPENDS ${file} ${CMAKE_SOURCE_DIR}/cmake/embed_file.cmake VERBATIM)
    target_sources(${target} PRIVATE ${output})
endfunction()

zd_embed(zd_server zd_openapi ${CMAKE_SOURCE_DIR}/openapi/openapi.json)
