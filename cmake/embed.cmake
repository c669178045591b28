# Files that the binary carries: openapi.yaml as JSON and as a page, and the explorer, each as C arrays.
# zd_embed_folder(symbol pattern ...): defines `const struct zd_embedded SYMBOL[]` and `const char SYMBOL_version[]`.
function(zd_embed_folder target symbol)
    set(output ${CMAKE_BINARY_DIR}/embed/${symbol}.c)
    file(GLOB files CONFIGURE_DEPENDS ${ARGN})
    list(SORT files)
    string(REPLACE ";" "|" inputs "${files}")
    add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -DINPUTS=${inputs} -DOUTPUT=${output} -DSYMBOL=${symbol}
            -P ${CMAKE_SOURCE_DIR}/cmake/embed_folder.cmake
        DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/embed_folder.cmake VERBATIM)
    target_sources(${target} PRIVATE ${output})
endfunction()

zd_embed_folder(zd_server zd_openapi ${CMAKE_SOURCE_DIR}/openapi/openapi.json)
set(explorer ${CMAKE_SOURCE_DIR}/server/explorer)
zd_embed_folder(zd_server zd_explorer ${explorer}/*.html ${explorer}/*.css ${explorer}/*.js ${explorer}/*.svg)
zd_embed_folder(zd_server zd_docs ${CMAKE_SOURCE_DIR}/openapi/docs.*)
