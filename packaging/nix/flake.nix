{
  description = "One fast program for Kubernetes configuration";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      forAll = nixpkgs.lib.genAttrs systems;
    in {
      packages = forAll (system:
        let pkgs = nixpkgs.legacyPackages.${system}; in {
          default = pkgs.rustPlatform.buildRustPackage {
            pname = "krm";
            version = (builtins.fromTOML (builtins.readFile ../../Cargo.toml)).workspace.package.version;
            src = ../..;
            cargoLock.lockFile = ../../Cargo.lock;
            nativeBuildInputs = [ pkgs.installShellFiles ];
            # The tests start containers, browsers and servers: the continuous integration runs them.
            doCheck = false;
            postInstall = ''
              $out/bin/krm man --output man
              installManPage man/*
              installShellCompletion --cmd krm \
                --bash <($out/bin/krm completion bash) \
                --zsh <($out/bin/krm completion zsh) \
                --fish <($out/bin/krm completion fish)
            '';
            meta.mainProgram = "krm";
          };
        });
    };
}
