class Krm < Formula
  desc "One fast program for Kubernetes configuration"
  homepage "https://github.com/krm-tools/krm"
  version "@VERSION@"
  license "Apache-2.0"

  on_linux do
    on_intel do
      url "https://github.com/krm-tools/krm/releases/download/v@VERSION@/krm-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256:krm-@VERSION@-x86_64-unknown-linux-musl.tar.gz@"
    end
    on_arm do
      url "https://github.com/krm-tools/krm/releases/download/v@VERSION@/krm-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256:krm-@VERSION@-aarch64-unknown-linux-musl.tar.gz@"
    end
  end

  def install
    bin.install "krm"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/krm.bash" => "krm"
    zsh_completion.install "completions/krm.zsh" => "_krm"
    fish_completion.install "completions/krm.fish"
  end

  test do
    (testpath/"kustomization.yaml").write <<~YAML
      configMapGenerator:
      - name: settings
        literals: [a=b]
    YAML
    assert_match "name: settings-", shell_output("#{bin}/krm build #{testpath}")
  end
end
