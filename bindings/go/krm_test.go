package krm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	krm "github.com/krm-tools/krm/bindings/go"
)

func shop() fstest.MapFS {
	return fstest.MapFS{
		"base/kustomization.yaml": {Data: []byte("resources: [web.yaml]\n")},
		"base/web.yaml": {Data: []byte(
			"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 1\n")},
		"live/kustomization.yaml": {Data: []byte(
			"resources: [../base]\nnamePrefix: live-\nreplicas:\n- name: web\n  count: 3\n")},
	}
}

func ExampleBuild() {
	files := fstest.MapFS{
		"kustomization.yaml": {Data: []byte("namePrefix: live-\nresources: [settings.yaml]\n")},
		"settings.yaml":      {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n")},
	}
	result, err := krm.Build(files, ".")
	if err != nil {
		panic(err)
	}
	fmt.Print(string(result.YAML))
	// Output:
	// apiVersion: v1
	// kind: ConfigMap
	// metadata:
	//   name: live-settings
}

func TestBuildReadsThroughTheFileSystem(t *testing.T) {
	result, err := krm.Build(shop(), "live", krm.WithObjects())
	if err != nil {
		t.Fatal(err)
	}
	want := "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: live-web\nspec:\n  replicas: 3\n"
	if string(result.YAML) != want {
		t.Errorf("got %q", result.YAML)
	}
	if name := result.Objects[0]["metadata"].(map[string]any)["name"]; name != "live-web" {
		t.Errorf("the object is called %v", name)
	}
}

func TestExampleOfTheRepository(t *testing.T) {
	result, err := krm.Build(os.DirFS("../../examples/shop"), "overlays/production")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(result.YAML), "name: prod-settings-82ffd746f4") {
		t.Errorf("got %s", result.YAML)
	}
}

func TestErrorsHaveAPlace(t *testing.T) {
	files := shop()
	files["live/kustomization.yaml"].Data = []byte("resources: [../base]\nnameprfix: live-\n")
	_, err := krm.Build(files, "live")
	var wrong *krm.Error
	if !errors.As(err, &wrong) {
		t.Fatalf("got %v", err)
	}
	place := wrong.Diagnostics[0].Place
	if place == nil || place.File != "live/kustomization.yaml" || place.Line != 2 {
		t.Errorf("the place is %+v", place)
	}
	if !strings.Contains(wrong.Diagnostics[0].Text, "^^^") {
		t.Errorf("no carets in %s", wrong.Diagnostics[0].Text)
	}
}

func TestNothingOutsideIsReached(t *testing.T) {
	files := shop()
	files["live/kustomization.yaml"].Data = []byte("resources: [https://example.com/app.yaml]\n")
	if _, err := krm.Build(files, "live"); err == nil || !strings.Contains(err.Error(), "example.com") {
		t.Errorf("got %v", err)
	}
	files["live/kustomization.yaml"].Data = []byte("resources: [../../../etc/passwd]\n")
	if _, err := krm.Build(files, "live"); err == nil {
		t.Error("a file outside the file system was read")
	}
}

func TestExplain(t *testing.T) {
	histories, err := krm.Explain(shop(), "live", "Deployment/live-web", "spec.replicas")
	if err != nil {
		t.Fatal(err)
	}
	events := histories[0].Events
	last := events[len(events)-1]
	if last.Place == nil || last.Place.File != "live/kustomization.yaml" || last.Place.Line != 5 {
		t.Errorf("the last event is %+v at %+v", last, last.Place)
	}
}

func TestManyAtOnce(t *testing.T) {
	var group sync.WaitGroup
	for range 32 {
		group.Add(1)
		go func() {
			defer group.Done()
			if result, err := krm.Build(shop(), "live"); err != nil || len(result.YAML) == 0 {
				t.Errorf("%v", err)
			}
		}()
	}
	group.Wait()
}

func TestACallCanBeCancelled(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	<-ctx.Done()
	engine, err := krm.New(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(context.Background())
	if _, err := engine.Build(ctx, shop(), "live"); err == nil {
		t.Error("a cancelled call gave a result")
	}
}
