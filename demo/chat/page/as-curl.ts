import type { Exchange } from "../shapes";

/**
 * Returns shell commands that send the request of an exchange again, with a new signature. The commands use the
 * environment variables SIGNING_SECRET, and BASE_URL (reports and polls) or TARGET_URL (pushes). Returns undefined if
 * the exchange contains only part of the request's body.
 */
export function asCurl({ what, method, path, request }: Exchange): string | undefined {
  if (request.isShortened) return undefined;
  const [, query = ""] = /\?(.*)$/s.exec(path) ?? [];
  // A base URL can have a path. In the commands, this path is a part of BASE_URL.
  const address = what === "push" ? "$TARGET_URL" : `$BASE_URL${path.slice(path.indexOf("/hooks/"))}`;
  const isPost = method === "POST";
  const headers = request.headers.filter(([name]) => name !== "service-signature");
  return [
    "t=$(date +%s)",
    `raw=${quoted(isPost ? request.body : query)}`,
    `v1=$(printf '%s.%s' "$t" "$raw" | openssl dgst -sha256 -hmac "$SIGNING_SECRET" | sed 's/^.* //')`,
    [
      `curl -sS -i "${address}"`,
      ...headers.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
      `-H "service-signature: t=$t,v1=$v1"`,
      ...(isPost ? [`--data-binary "$raw"`] : []),
    ].join(" \\\n  "),
  ].join("\n");
}

/** Quotes text for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
