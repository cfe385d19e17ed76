// Sets the label `team` of every resource.
package main

import (
	"errors"
	"os"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/fn/framework/command"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

type config struct {
	Data struct {
		Team string `yaml:"team"`
	} `yaml:"data"`
}

func main() {
	var config config
	setTeam := framework.SimpleProcessor{
		Config: &config,
		Filter: kio.FilterFunc(func(items []*yaml.RNode) ([]*yaml.RNode, error) {
			if config.Data.Team == "" {
				return nil, errors.New("say which team: `team=NAME`")
			}
			for _, item := range items {
				if err := item.PipeE(yaml.SetLabel("team", config.Data.Team)); err != nil {
					return nil, err
				}
			}
			return items, nil
		}),
	}
	if err := command.Build(setTeam, command.StandaloneEnabled, false).Execute(); err != nil {
		os.Exit(1)
	}
}
