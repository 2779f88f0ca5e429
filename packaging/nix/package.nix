# hostmark for Nix: `nix-build -E 'with import <nixpkgs> { }; callPackage ./packaging/nix/package.nix { }'`
{
  lib,
  rustPlatform,
  installShellFiles,
}:

rustPlatform.buildRustPackage {
  pname = "hostmark";
  version = (lib.importTOML ../../Cargo.toml).workspace.package.version;

  src = lib.fileset.toSource {
    root = ../..;
    fileset = lib.fileset.unions [
      ../../Cargo.toml
      ../../Cargo.lock
      ../../README.md
      ../../LICENSE-MIT
      ../../LICENSE-APACHE
      ../../crates
      ../../kmod
    ];
  };
  cargoLock.lockFile = ../../Cargo.lock;
  buildType = "dist";
  cargoBuildFlags = [
    "-p"
    "hostmark"
  ];

  # Most tests measure: a sandbox that shares its CPUs with other builds fails them.
  doCheck = false;

  nativeBuildInputs = [ installShellFiles ];
  postInstall = ''
    $out/bin/hostmark man --dir man
    installManPage man/*.1
    installShellCompletion --cmd hostmark \
      --bash <($out/bin/hostmark completions bash) \
      --zsh <($out/bin/hostmark completions zsh) \
      --fish <($out/bin/hostmark completions fish)
  '';
  doInstallCheck = true;
  installCheckPhase = "$out/bin/hostmark list";

  meta = {
    description = "Measures what a Linux server really delivers";
    license = with lib.licenses; [
      mit
      asl20
    ];
    platforms = [
      "x86_64-linux"
      "aarch64-linux"
    ];
    mainProgram = "hostmark";
  };
}
