module readers

go 1.18

require go.yaml.in/yaml/v3 v3.0.4
