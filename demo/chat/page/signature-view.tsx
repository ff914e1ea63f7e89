import type { WireSide } from "../shapes";

const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const EXCERPT_CHARACTERS = 160;

export interface SignatureViewProps {
  readonly side: WireSide;
  /** The signed bytes that follow the time: a body or a query string. */
  readonly signed: string;
  /** Name of these bytes. */
  readonly what: "body" | "query string";
}

/** The parts of the signature of a request or an answer, and the text that was signed. */
export function SignatureView({ side, signed, what }: SignatureViewProps) {
  const header = side.headers.find(([name]) => name === "service-signature")?.[1];
  const [, t = "", digests = ""] = /^t=(\d+),(.*)$/.exec(header ?? "") ?? [];
  if (t === "") return null;
  const isLong = signed.length > EXCERPT_CHARACTERS;
  return (
    <dl class="signature">
      <dt>
        <code>t</code>
      </dt>
      <dd>
        <code>{t}</code>: {TIME.format(new Date(Number(t) * 1000))}. At most 5 minutes from the receiver's
        clock.
      </dd>
      <dt>
        <code>v1</code>
      </dt>
      <dd>
        {digests.split(",").map((digest) => (
          <code key={digest}>{digest.replace("v1=", "")} </code>
        ))}
        is the HMAC-SHA256 of the signed text, keyed with the secret. Shortened here.
      </dd>
      <dt>Signed text</dt>
      <dd>
        <code>
          {t}.{isLong ? `${signed.slice(0, EXCERPT_CHARACTERS)}…` : signed}
        </code>
        <span class="hint">
          {" "}
          <code>t</code>, a dot, and the exact bytes of the {what}
          {signed === "" && ", which is empty"}
        </span>
      </dd>
    </dl>
  );
}
