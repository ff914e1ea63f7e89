import type { Mode } from "../../proto/json/shapes";
import type { Language } from "./languages";

/** Values in a program. The program reads the secret from the variable SIGNING_SECRET. */
export interface FirstRequest {
  readonly publicUrl: string;
  readonly workspaceId: string;
  readonly mode: Mode;
}

const COMMAND = '{"type":"command","channel":"general","user":{"id":"u1","name":"Ada"},"text":"help"}';
const QUERY = "limit=10";

/** Returns the shell command that sets the secret for the programs. */
export function secretCommand(secret: string): string {
  return `export SIGNING_SECRET='${secret}'`;
}

/**
 * Returns a complete program that sends a signed event, polls if the workspace does not push, and prints the answers.
 * The first line of the program says how to run the program.
 */
export function firstRequest(language: Language, { publicUrl, workspaceId, mode }: FirstRequest): string {
  const hook = `${publicUrl}/hooks/${workspaceId}`;
  return PROGRAMS[language](hook, mode === "poll").join("\n");
}

type Program = (hook: string, polls: boolean) => readonly string[];

/** Returns `lines` if the workspace's bridge polls, and no lines otherwise. */
const onlyIf = (polls: boolean, ...lines: readonly string[]): readonly string[] => (polls ? lines : []);

const PROGRAMS: Readonly<Record<Language, Program>> = {
  curl: (hook, polls) => [
    "# first.sh: sh first.sh",
    "sign() {",
    "  t=$(date +%s)",
    `  v1=$(printf '%s.%s' "$t" "$1" | openssl dgst -sha256 -hmac "$SIGNING_SECRET" | sed 's/^.* //')`,
    `  printf 'Service-Signature: t=%s,v1=%s' "$t" "$v1"`,
    "}",
    "",
    `body='${COMMAND}'`,
    `curl -i '${hook}' -H "$(sign "$body")" \\`,
    `  -H 'Content-Type: application/json' --data-binary "$body"`,
    ...onlyIf(polls, "", `query='${QUERY}'`, `curl -i "${hook}/events?$query" -H "$(sign "$query")"`),
  ],
  typescript: (hook, polls) => [
    "// first.mts: node first.mts (Node 22.18 or later), or npx tsx first.mts",
    'import { createHmac } from "node:crypto";',
    "",
    `const hook = ${JSON.stringify(hook)};`,
    'const secret = process.env["SIGNING_SECRET"] ?? "";',
    "",
    "function sign(raw: string) {",
    "  const t = Math.floor(Date.now() / 1000);",
    '  const v1 = createHmac("sha256", secret).update(`${t}.${raw}`).digest("hex");',
    '  return { "Service-Signature": `t=${t},v1=${v1}`, "Content-Type": "application/json" };',
    "}",
    "",
    `const body = '${COMMAND}';`,
    'const sent = await fetch(hook, { method: "POST", headers: sign(body), body });',
    "console.log(sent.status, await sent.text());",
    ...onlyIf(
      polls,
      "",
      `const query = "${QUERY}";`,
      "const page = await fetch(`${hook}/events?${query}`, { headers: sign(query) });",
      "console.log(page.status, await page.text());",
    ),
  ],
  python: (hook, polls) => [
    "# first.py: python3 first.py",
    "import hashlib, hmac, os, time, urllib.error, urllib.request",
    "",
    `HOOK = ${JSON.stringify(hook)}`,
    'SECRET = os.environ["SIGNING_SECRET"].encode()',
    "",
    "",
    "def call(url, signed, body=None):",
    "    t = str(int(time.time()))",
    '    v1 = hmac.new(SECRET, f"{t}.{signed}".encode(), hashlib.sha256).hexdigest()',
    '    headers = {"Service-Signature": f"t={t},v1={v1}", "Content-Type": "application/json"}',
    "    try:",
    "        answer = urllib.request.urlopen(urllib.request.Request(url, body, headers))",
    "    except urllib.error.HTTPError as error:",
    "        answer = error",
    "    print(answer.status, answer.read().decode())",
    "",
    "",
    `body = '${COMMAND}'`,
    "call(HOOK, body, body.encode())",
    ...onlyIf(polls, "", `query = "${QUERY}"`, 'call(f"{HOOK}/events?{query}", query)'),
  ],
  go: (hook, polls) => [
    "// first.go: go run first.go",
    "package main",
    "",
    "import (",
    ...["crypto/hmac", "crypto/sha256", "fmt", "io", "net/http", "os", "strings", "time"].map(
      (name) => `\t"${name}"`,
    ),
    ")",
    "",
    `const hook = ${JSON.stringify(hook)}`,
    "",
    "func call(method, url, signed, body string) {",
    "\tt := fmt.Sprint(time.Now().Unix())",
    '\tdigest := hmac.New(sha256.New, []byte(os.Getenv("SIGNING_SECRET")))',
    '\tdigest.Write([]byte(t + "." + signed))',
    "\trequest, err := http.NewRequest(method, url, strings.NewReader(body))",
    "\tif err != nil {",
    "\t\tpanic(err)",
    "\t}",
    '\trequest.Header.Set("Content-Type", "application/json")',
    '\trequest.Header.Set("Service-Signature", fmt.Sprintf("t=%s,v1=%x", t, digest.Sum(nil)))',
    "\tanswer, err := http.DefaultClient.Do(request)",
    "\tif err != nil {",
    "\t\tpanic(err)",
    "\t}",
    "\tdefer answer.Body.Close()",
    "\ttext, _ := io.ReadAll(answer.Body)",
    "\tfmt.Println(answer.StatusCode, string(text))",
    "}",
    "",
    "func main() {",
    `\tbody := \`${COMMAND}\``,
    '\tcall("POST", hook, body, body)',
    ...onlyIf(polls, `\tquery := "${QUERY}"`, '\tcall("GET", hook+"/events?"+query, query, "")'),
    "}",
  ],
};
