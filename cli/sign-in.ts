import { SignInRejected, signInPath } from "../runtime/sign-in-link";
import { answer, type Cli, type CliCommand } from "./cli";
import { operatorToken } from "./core";
import { EXIT } from "./exit-code";
import { CliFailure } from "./failure";

/** The address at which the systemd units and `npm start` serve the dashboard. */
const DASHBOARD = "http://127.0.0.1:8082";

/** `chat-bridge sign-in` prints a link that signs one person in to the dashboard. */
export function addSignIn(program: CliCommand, cli: Cli): void {
  program
    .command("sign-in")
    .description("print a link that signs one person in to the dashboard, once")
    .moreHelp(`
The command asks the dashboard at DASHBOARD_INSIDE (${DASHBOARD}) for the link, and prints the link for the address that
people use, DASHBOARD_URL (DASHBOARD_INSIDE). The link expires after an hour. The person gets the rights of the token.

Examples:
  $ sudo chat-bridge sign-in
  $ DASHBOARD_INSIDE=https://dashboard.example chat-bridge sign-in --token-file operator-token`)
    .action(async () => {
      const inside = baseOf(cli.environment["DASHBOARD_INSIDE"] || DASHBOARD);
      const outside = baseOf(cli.environment["DASHBOARD_URL"] || inside);
      const link = `${outside}${await pathFrom(inside, operatorToken(cli))}`;
      answer(cli, { link }, [link]);
    });
}

const baseOf = (url: string): string => url.replace(/\/+$/, "");

/** Resolves to the path part of a sign-in link. Rejects with a `CliFailure`. */
async function pathFrom(dashboard: string, token: string): Promise<string> {
  try {
    return await signInPath(dashboard, token);
  } catch (error) {
    const { message, cause } = error as Error;
    if (error instanceof SignInRejected) {
      throw new CliFailure(EXIT.TOKEN, `the dashboard at ${dashboard} rejects the request: ${message}`);
    }
    const reason = cause instanceof Error ? cause.message : message;
    throw new CliFailure(
      EXIT.OUT_OF_REACH,
      `the dashboard at ${dashboard} is unavailable (${reason}): check that the edge is running, and check DASHBOARD_INSIDE`,
    );
  }
}
