import { causeWords, clockWords, refusalWords } from "../contract/request-words";
import { REFUSAL_STATUS, type RefusalKind } from "../contract/requests";
import { toRequestsShape, toSignatureCheckShape } from "../proto/json/request-json";
import type { RequestsShape, SignatureCheckShape } from "../proto/json/shapes";
import { answer, WORKSPACE_ARGUMENT, type Cli, type CliCommand } from "./cli";
import { painted, type Line, type Span } from "./colour";
import { asOperator } from "./core";
import { EXIT } from "./exit-code";
import { readSource } from "./signature-commands";
import { factLines, tableLines } from "./table";

/** `chat-bridge requests` and `chat-bridge check-signature`. */
export function addRequests(program: CliCommand, cli: Cli): void {
  program
    .command("requests")
    .description("show the bridge's accepted and refused requests of the last hour, with the reasons")
    .argument(...WORKSPACE_ARGUMENT)
    .moreHelp(`
Example:
  $ chat-bridge requests <workspace>`)
    .action((workspaceId: string) =>
      asOperator(cli, async ({ call, methods }) => {
        const { requests } = await call(methods.listRequests, { workspaceId });
        const shape = toRequestsShape(requests);
        answer(cli, shape, requestLines(shape));
      }),
    );

  program
    .command("check-signature")
    .description("let core check a Service-Signature header, without the secret")
    .argument(...WORKSPACE_ARGUMENT)
    .argument("<signature>", "the header's value: t=…,v1=…")
    .argument("[file]", "file with the exact bytes of the body; stdin by default")
    .option("--query <query>", "the query string of a poll, without the ?, instead of a body")
    .moreHelp(`
Exit code 0: the signature is valid. 1: it is not, and the first likely cause is printed.

Examples:
  $ chat-bridge check-signature <workspace> "$header" body.json
  $ chat-bridge check-signature <workspace> "$header" --query 'after=latest'`)
    .action(
      (
        workspaceId: string,
        header: string,
        file: string | undefined,
        { query }: { readonly query?: string },
      ) =>
        asOperator(cli, async ({ call, methods }) => {
          const raw = await readSource(cli, file, query);
          const signed =
            query === undefined
              ? { $case: "body" as const, value: raw }
              : { $case: "query" as const, value: query };
          const check = toSignatureCheckShape(
            await call(methods.checkSignature, { workspaceId, header, signed }),
          );
          answer(cli, check, checkLines(check));
          if (!check.valid || check.stale) cli.endWith(EXIT.NO);
        }),
    );
}

function requestLines({ counts, refusals }: RequestsShape): readonly Line[] {
  const { post = 0, poll = 0, push = 0, "push-failed": failed = 0 } = counts;
  const sum = [
    `Accepted in the last hour: ${counted(post, "post")}, ${counted(poll, "poll")}.`,
    `Pushes in the last hour: ${push} accepted, ${failed} failed attempts.`,
  ];
  const sampled = new Set(refusals.map(({ kind }) => kind));
  const rows = refusals.map((refused, i) => {
    const { reason, fix } = refusalWords(refused);
    // Several samples of one kind of refused request share a count.
    const isFirst = refusals.findIndex(({ kind }) => kind === refused.kind) === i;
    const count = isFirst ? String(counts[refused.kind] ?? 0) : "";
    return [statusOf(refused.kind), count, refused.at, `${reason} ${fix}`];
  });
  const rest = Object.entries(counts).flatMap(([kind, count]) => {
    if (!Object.hasOwn(REFUSAL_STATUS, kind) || sampled.has(kind as RefusalKind)) return [];
    return [[statusOf(kind as RefusalKind), String(count), "-", "no sample was kept"]];
  });
  const refused = [...rows, ...rest];
  if (refused.length === 0) return [...sum, "No request was refused in the last 24 hours."];
  return [...sum, ...tableLines(["status", "last hour", "last at", "reason"], refused)];
}

function statusOf(kind: RefusalKind): Span {
  return painted("bad", String(REFUSAL_STATUS[kind]));
}

function checkLines(check: SignatureCheckShape): readonly Line[] {
  const { valid, secretNumber, cause, signedText, signedBytes, clockSeconds, stale } = check;
  const words = cause === null ? undefined : causeWords(cause);
  const clock = stale ? clockWords(clockSeconds) : undefined;
  const secret = secretNumber === 1 ? "the newest secret" : "the previous secret, which expires soon";
  return [
    valid
      ? painted(stale ? "warning" : "good", `The digest fits ${secret}.`)
      : painted("bad", `The signature is not valid: ${words?.reason ?? ""}`),
    ...(words === undefined ? [] : [words.fix]),
    ...(clock === undefined ? [] : [clock.reason, clock.fix]),
    ...factLines([
      ["signed text", signedText],
      ["signed bytes", signedBytes === 0 ? "" : String(signedBytes)],
    ]),
  ];
}

function counted(count: number, one: string): string {
  return `${count} ${count === 1 ? one : `${one}s`}`;
}
