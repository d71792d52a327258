module github.com/mcprec/mcprec

go 1.25.0
