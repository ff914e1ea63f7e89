// Runs test/kubernetes/ in the cluster that KUBECONFIG names. One file at a time, because some tests keep pods away from
// a node. Arguments are those of jest.
import { spawnSync } from "node:child_process";

if (!process.env.KUBECONFIG) {
  console.log("skipped: set KUBECONFIG to the file of a cluster (test/kubernetes/README.md)");
} else {
  const args = ["jest", "--selectProjects", "kubernetes", "--ci", "--maxWorkers=1", ...process.argv.slice(2)];
  const { status } = spawnSync("npx", ["--no-install", ...args], { stdio: "inherit" });
  process.exitCode = status ?? 1;
}
