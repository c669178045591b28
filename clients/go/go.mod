module zarrd

go 1.19
