import type { Language } from "./languages";

/** The push of an event. */
export interface EventPush {
  readonly workspaceId: string;
  readonly eventId: string;
  /** The URL that the event is pushed to. */
  readonly targetUrl: string;
  /** The event, exactly as it is pushed. */
  readonly json: string;
}

/**
 * Returns a program that pushes an event as the service does, with the same bytes and headers, but with a new
 * signature. The program reads the secret from the environment variable SIGNING_SECRET, so users can share the program.
 */
export function eventSnippet(language: Language, push: EventPush): string {
  return WRITERS[language](push);
}

const WRITERS: Readonly<Record<Language, (push: EventPush) => string>> = {
  curl: ({ targetUrl, json, ...ids }) =>
    [
      `body=${quoted(json)}`,
      "t=$(date +%s)",
      `v1=$(printf '%s.%s' "$t" "$body" | openssl dgst -sha256 -hmac "$SIGNING_SECRET" | sed 's/^.* //')`,
      [
        `curl -sS -i ${quoted(targetUrl)}`,
        ...headersOf(ids).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
        `-H "Service-Signature: t=$t,v1=$v1"`,
        `--data-binary "$body"`,
      ].join(" \\\n  "),
    ].join("\n"),

  typescript: ({ targetUrl, json, ...ids }) => `import { createHmac } from "node:crypto";

const secret = process.env["SIGNING_SECRET"] ?? "";
const body = ${literal(json)};
const t = Math.floor(Date.now() / 1000);
const v1 = createHmac("sha256", secret).update(\`\${t}.\${body}\`).digest("hex");
const answer = await fetch(${literal(targetUrl)}, {
  method: "POST",
  headers: {
${headersOf(ids)
  .map(([name, value]) => `    ${literal(name)}: ${literal(value)},`)
  .join("\n")}
    "Service-Signature": \`t=\${t},v1=\${v1}\`,
  },
  body,
});
console.log(answer.status, await answer.text());`,

  python: ({ targetUrl, json, ...ids }) => `import hashlib, hmac, os, time, urllib.error, urllib.request

secret = os.environ["SIGNING_SECRET"].encode()
body = ${literal(json)}.encode()
t = int(time.time())
v1 = hmac.new(secret, f"{t}.".encode() + body, hashlib.sha256).hexdigest()
request = urllib.request.Request(
    ${literal(targetUrl)},
    data=body,
    headers={
${headersOf(ids)
  .map(([name, value]) => `        ${literal(name)}: ${literal(value)},`)
  .join("\n")}
        "Service-Signature": f"t={t},v1={v1}",
    },
)
try:
    answer = urllib.request.urlopen(request)
except urllib.error.HTTPError as refusal:
    answer = refusal
print(answer.status, answer.read().decode())`,

  go: ({ targetUrl, json, ...ids }) => `package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	body := ${literal(json)}
	t := time.Now().Unix()
	mac := hmac.New(sha256.New, []byte(os.Getenv("SIGNING_SECRET")))
	fmt.Fprintf(mac, "%d.%s", t, body)
	request, err := http.NewRequest("POST", ${literal(targetUrl)}, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
${headersOf(ids)
  .map(([name, value]) => `	request.Header.Set(${literal(name)}, ${literal(value)})`)
  .join("\n")}
	request.Header.Set("Service-Signature", fmt.Sprintf("t=%d,v1=%x", t, mac.Sum(nil)))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	fmt.Println(answer.StatusCode, string(text))
}`,
};

type Ids = Pick<EventPush, "workspaceId" | "eventId">;

/** Returns the headers of a push that do not depend on the time. */
function headersOf({ workspaceId, eventId }: Ids): readonly (readonly [name: string, value: string])[] {
  return [
    ["Content-Type", "application/json"],
    ["Service-Event-Id", eventId],
    ["Service-Workspace", workspaceId],
  ];
}

/** Returns all headers of a push with the meaning of each. The values in angle brackets are different in each attempt. */
export function pushHeaders({ targetUrl, json, ...ids }: EventPush): readonly (readonly [string, string])[] {
  const bytes = new TextEncoder().encode(json).length;
  return [
    ["Host", hostOf(targetUrl)],
    ...headersOf(ids),
    ["Content-Length", String(bytes)],
    ["Service-Signature", "t=<seconds>,v1=<hex digest>"],
  ];
}

function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return "<the target URL's host>";
  }
}

/** Quotes text for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * Characters that source code should not contain: editors hide them, and Go allows a byte order mark only at the start
 * of a file.
 */
const HIDDEN = /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** Returns a string literal that has the same value in TypeScript, Python and Go. */
function literal(text: string): string {
  return JSON.stringify(text).replaceAll(
    HIDDEN,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
