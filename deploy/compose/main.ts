import { createOperator, demoWorkspace, signInLink } from "../local/operator";
import { VERSION_TEXT } from "../../runtime/version";
import { readComposeConfig, type ComposeConfig } from "./config";
import {
  addSecretsKey,
  grafanaPassword,
  keepWorkspace,
  knownWorkspace,
  operatorToken,
  removeOldToken,
  rotateToken,
  writeSecrets,
} from "./secrets";

const HELP = `Commands that docker-compose.yml runs once at each start, and commands for operators:

  secrets           creates missing secrets, and writes the secrets of each container
  workspace         creates the demo workspace, and writes its id and secret for the chat
  sign-in           prints a link that signs one person in to the dashboard, once
  rotate-token      creates a new token for a role (edge, game or operator); core also accepts the previous one
  remove-old-token  removes the previous token of a role, so that core no longer accepts it
  add-key           adds a new key that encrypts signing secrets, and keeps the old keys; restart core afterwards
  grafana-password  prints the first password of Grafana's user admin

--help prints this page, and --version prints the version.
`;

const EXIT_FAULT = 1;
const EXIT_USAGE = 64; // EX_USAGE

type Command = (config: ComposeConfig, role: string | undefined) => Promise<void> | void;

const COMMANDS: Readonly<Record<string, Command>> = {
  secrets: ({ secretsDir }) => writeSecrets(secretsDir),
  "rotate-token": ({ secretsDir }, role) => rotateToken(secretsDir, role),
  "remove-old-token": ({ secretsDir }, role) => removeOldToken(secretsDir, role),
  "add-key": ({ secretsDir }) => addSecretsKey(secretsDir),
  "grafana-password": ({ secretsDir }) => void process.stdout.write(`${grafanaPassword(secretsDir)}\n`),
  async workspace({ secretsDir, coreAddress }) {
    const operator = createOperator(coreAddress, operatorToken(secretsDir));
    try {
      keepWorkspace(secretsDir, await demoWorkspace(operator, knownWorkspace(secretsDir), "Demo"));
    } finally {
      operator.close();
    }
  },
  async "sign-in"({ secretsDir, dashboard: { inside, outside } }) {
    const link = await signInLink(inside, operatorToken(secretsDir));
    process.stdout.write(`${link.replace(inside, outside)}\n`);
  },
};

async function main(name: string | undefined, role: string | undefined): Promise<number> {
  if (name === "--help") {
    process.stdout.write(HELP);
    return 0;
  }
  if (name === "--version") {
    process.stdout.write(`${VERSION_TEXT}\n`);
    return 0;
  }
  const command = COMMANDS[name ?? ""];
  if (command === undefined) {
    process.stderr.write(HELP);
    return EXIT_USAGE;
  }
  try {
    await command(readComposeConfig(process.env), role);
    return 0;
  } catch (error) {
    process.stderr.write(`${name}: ${error instanceof Error ? error.message : String(error)}\n`);
    return EXIT_FAULT;
  }
}

void main(process.argv[2], process.argv[3]).then((code) => (process.exitCode = code));
