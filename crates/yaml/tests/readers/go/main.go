// Reads YAML documents, each on a line of standard input as a JSON string; writes what it made of each as JSON.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"
)

// JSON has no maps but those with strings for keys.
func plain(value any) any {
	switch value := value.(type) {
	case map[any]any:
		return map[string]any{"not JSON": fmt.Sprint(value)}
	case map[string]any:
		for key, inner := range value {
			value[key] = plain(inner)
		}
	case []any:
		for at, inner := range value {
			value[at] = plain(inner)
		}
	}
	return value
}

func main() {
	lines := bufio.NewReader(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	fmt.Fprintln(out, "ready")
	for {
		line, end := lines.ReadBytes('\n')
		if len(line) == 0 && end != nil {
			return
		}
		var text string
		var value any
		err := json.Unmarshal(line, &text)
		if err == nil {
			err = yaml.Unmarshal([]byte(text), &value)
		}
		answer, fault := json.Marshal(plain(value))
		if err == nil {
			err = fault
		}
		if err != nil {
			answer, _ = json.Marshal(map[string]string{"refused": err.Error()})
		}
		fmt.Fprintln(out, string(answer))
	}
}
