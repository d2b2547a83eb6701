module brigade-lab-go

go 1.22
