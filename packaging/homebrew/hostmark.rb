# Homebrew on Linux, from the repository: there is no release yet to name by address and digest.
#   brew install --HEAD ./packaging/homebrew/hostmark.rb
class Hostmark < Formula
  desc "Measure what a Linux server really delivers"
  homepage "https://hostmark.invalid/hostmark"
  license any_of: ["MIT", "Apache-2.0"]
  head "https://hostmark.invalid/hostmark.git", branch: "main"

  depends_on "rust" => :build
  depends_on :linux

  def install
    system "cargo", "install", "--profile", "dist", *std_cargo_args(path: "crates/cli")
    system bin/"hostmark", "man", "--dir", "man"
    man1.install Dir["man/*.1"]
    generate_completions_from_executable(bin/"hostmark", "completions")
  end

  test do
    assert_match "syscall.null", shell_output("#{bin}/hostmark list")
    system bin/"hostmark", "run", "syscall.null", "--out", testpath/"run.json"
    assert_path_exists testpath/"run.json"
  end
end
