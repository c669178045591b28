# Script: writes the systemd unit of the variable `unit` as the file `written`, with `program` in place of /usr/bin/zarrd.
if(program MATCHES " ")
    set(program "\"${program}\"")
endif()
file(READ "${unit}" text)
string(REPLACE "ExecStart=/usr/bin/zarrd " "ExecStart=${program} " text "${text}")
file(WRITE "${written}" "${text}")
