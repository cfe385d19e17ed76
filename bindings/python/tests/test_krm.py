import doctest
import pathlib
import threading

import krm
import pytest

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"

SHOP = {
    "base/kustomization.yaml": "resources: [web.yaml]\n",
    "base/web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 1\n",
    "live/kustomization.yaml": "resources: [../base]\nnamePrefix: live-\nreplicas:\n- name: web\n  count: 3\n",
}


def test_the_example_of_the_module():
    assert doctest.testmod(krm).failed == 0


def test_builds_from_a_mapping():
    result = krm.build("live", files=SHOP)
    assert result.yaml == (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: live-web\nspec:\n  replicas: 3\n"
    )
    assert result.objects[0]["spec"]["replicas"] == 3
    assert result.warnings == []


def test_builds_from_disk(monkeypatch):
    monkeypatch.chdir(EXAMPLES / "shop")
    result = krm.build("overlays/production")
    assert "prod-settings-82ffd746f4" in [resource["metadata"]["name"] for resource in result.objects]
    assert krm.build(pathlib.Path("overlays/production")).yaml == result.yaml


def test_says_where_a_value_comes_from():
    [history] = krm.build("live", files=SHOP).explain("Deployment/live-web", "spec.replicas")
    assert history.value == 3
    assert history.events[-1].place == krm.Place("live/kustomization.yaml", 5, 10)
    assert history.events[-1].decides
    assert history.text.startswith("Deployment live-web\n  spec.replicas: 3\n")


def test_errors_have_a_place():
    with pytest.raises(krm.BuildError) as caught:
        krm.build("live", files={**SHOP, "live/kustomization.yaml": "nameprfix: live-\n"})
    [error] = caught.value.diagnostics
    assert (error.place.file, error.place.line, error.place.column) == ("live/kustomization.yaml", 1, 1)
    assert "^^^" in str(caught.value)


@pytest.mark.parametrize("resource", ["https://example.com/a.yaml", "../../../../etc/passwd", "missing.yaml"])
def test_what_is_not_there_is_an_error(resource):
    with pytest.raises(krm.BuildError):
        krm.build("live", files={**SHOP, "live/kustomization.yaml": f"resources: ['{resource}']\n"})


def test_an_unknown_version_of_kubernetes_is_an_error():
    with pytest.raises(krm.BuildError, match="1.99"):
        krm.build("live", files=SHOP, kube_version="1.99")


def test_threads():
    texts = []
    run = lambda: texts.append(krm.build("live", files=SHOP).yaml)
    threads = [threading.Thread(target=run) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(texts)) == 1 and len(texts) == 16
