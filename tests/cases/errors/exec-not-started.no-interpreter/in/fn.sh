#!/no/such/shell
cat
