# The files that `cmake --install` installs. Of these the image has the component "program" alone.
include(GNUInstallDirs)
install(TARGETS zarrd RUNTIME COMPONENT program)
install(FILES LICENSE README.md CHANGELOG.md SECURITY.md THIRD_PARTY.md config/zarrd.json
    DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documents)
install(FILES core/picture/COLORMAPS.md core/picture/LICENSE.Apache-2.0
    DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documents)
# docs/reference/build makes these, and a test holds them equal to the program's own words.
install(FILES docs/zarrd.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT documents)
install(FILES deploy/completion/zarrd.bash DESTINATION share/bash-completion/completions RENAME zarrd COMPONENT documents)
install(FILES deploy/completion/_zarrd DESTINATION share/zsh/site-functions COMPONENT documents)

# The unit starts the program where it is installed, which `cmake --install --prefix` decides.
install(CODE "set(program \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/zarrd\")
set(unit \"${CMAKE_SOURCE_DIR}/deploy/systemd/zarrd.service\")
set(written \"${CMAKE_BINARY_DIR}/service/zarrd.service\")
include(\"${CMAKE_SOURCE_DIR}/cmake/write_unit.cmake\")" COMPONENT service)
install(FILES ${CMAKE_BINARY_DIR}/service/zarrd.service DESTINATION lib/systemd/system COMPONENT service)
install(FILES deploy/systemd/sysusers.conf DESTINATION lib/sysusers.d RENAME zarrd.conf COMPONENT service)
