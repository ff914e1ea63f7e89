import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface PortForward {
  /** URL of a port on this machine that kubectl forwards to a pod of the Service. */
  readonly url: string;
  close(): Promise<void>;
}

/** Forwards connections from a free port of this machine to a port of a Service, through the API server. */
export async function forwardPort(namespace: string, service: string, port: number): Promise<PortForward> {
  const args = ["-n", namespace, "port-forward", `service/${service}`, `:${port}`];
  const child = spawn("kubectl", args, { stdio: ["ignore", "pipe", "pipe"] });
  const closed = once(child, "close");
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const [, local] = /^Forwarding from 127\.0\.0\.1:(\d+)/.exec(line) ?? [];
      if (local !== undefined) resolve(`http://127.0.0.1:${local}`);
    });
    void closed.then(() => reject(new Error(`kubectl ${args.join(" ")}: ${errors}`)));
  });
  return {
    url,
    async close() {
      child.kill();
      await closed;
    },
  };
}
