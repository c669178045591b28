# The version of CMakeLists.txt is the version of every file that names it.
cmake_minimum_required(VERSION 3.25)
file(STRINGS ${ROOT}/CMakeLists.txt line REGEX "^project\\(")
string(REGEX MATCH "VERSION ([0-9.]+)" match "${line}")
set(version ${CMAKE_MATCH_1})

# A file, and the expression of its lines with the version. Where a file lists all versions, the first line is the newest.
set(places
    "CHANGELOG.md=^## .[0-9]"
    "debian/changelog=^zarrd \\("
    "deploy/helm/zarrd/Chart.yaml=^version:"
    "deploy/helm/zarrd/Chart.yaml=^appVersion:"
    "openapi/openapi.yaml=^  version:"
    "openapi/openapi.json=^  \"version\":")
set(failed FALSE)
foreach(place ${places})
    string(REGEX MATCH "^([^=]+)=(.*)$" match "${place}")
    set(file ${CMAKE_MATCH_1})
    file(STRINGS ${ROOT}/${file} lines REGEX "${CMAKE_MATCH_2}")
    list(GET lines 0 line)
    string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" found "${line}")
    if(NOT found STREQUAL version)
        message("${file} has the version \"${found}\", CMakeLists.txt has ${version}")
        set(failed TRUE)
    endif()
endforeach()
if(failed)
    message(FATAL_ERROR "versions differ")
endif()
