import { useState } from "preact/hooks";
import { BODY_MAX_BYTES } from "../../contract/numbers";
import { causeWords, clockWords } from "../../contract/request-words";
import type { SignatureCheckShape } from "../../proto/json/shapes";
import { api } from "../api";
import { ActionButton } from "../parts/action-button";
import { Field } from "../parts/field";
import { Form } from "../parts/form";
import { Notice } from "../parts/notice";
import { useAction } from "../use-action";

type Part = "body" | "query";

/**
 * Lets the user paste a signature, which core checks. Shows the signed text and the first likely mistake. Neither the
 * secret nor an expected digest is ever shown.
 */
export function SignaturePlayground({ workspaceId }: { readonly workspaceId: string }) {
  const [part, setPart] = useState<Part>("body");
  const [text, setText] = useState("");
  const [header, setHeader] = useState("");
  const [check, setCheck] = useState<SignatureCheckShape | undefined>(undefined);
  const checking = useAction(async () => {
    setCheck(undefined);
    setCheck(await api.checkSignature(workspaceId, part, text, header.trim()));
  });
  /** Clears the result, because the result does not apply to changed input. */
  function edit(change: () => void): void {
    change();
    setCheck(undefined);
  }
  return (
    <details class="playground">
      <summary>Check a signature</summary>
      <Form action={checking} fields={["header"]} class="playground-form">
        <fieldset>
          <legend>Request</legend>
          {(["body", "query"] as const).map((each) => (
            <label key={each} class="choice">
              <input
                type="radio"
                name="part"
                checked={part === each}
                onChange={() => edit(() => setPart(each))}
              />
              {each === "body" ? "Post" : "Poll"}
            </label>
          ))}
        </fieldset>
        <div class="field">
          <label for="playground-text">
            {part === "body" ? "Exact body" : "Query string, without the ?"}
          </label>
          <textarea
            id="playground-text"
            rows={part === "body" ? 5 : 2}
            spellcheck={false}
            autocomplete="off"
            dir="ltr"
            maxLength={BODY_MAX_BYTES}
            aria-describedby="playground-hint"
            value={text}
            onInput={({ currentTarget }) => edit(() => setText(currentTarget.value))}
          />
          <p class="hint" id="playground-hint">
            {part === "body"
              ? "Paste the bytes that the bridge sends. The browser turns each line break into \\n."
              : "For example, after=latest; leave it empty if the bridge polls without a query."}
          </p>
        </div>
        <Field
          label="Service-Signature"
          name="header"
          value={header}
          onText={(value) => edit(() => setHeader(value))}
          placeholder="t=…,v1=…"
          maxLength={4_096}
        />
        <ActionButton type="submit" pending={checking.pending}>
          Check the signature
        </ActionButton>
      </Form>
      <div role="status">{check !== undefined && <CheckResult check={check} />}</div>
    </details>
  );
}

function CheckResult({ check }: { readonly check: SignatureCheckShape }) {
  const { valid, secretNumber, cause, signedText, signedBytes, clockSeconds, stale } = check;
  const words = cause === null ? undefined : causeWords(cause);
  const clock = stale ? clockWords(clockSeconds) : undefined;
  return (
    <div class="playground-result">
      <Notice tone={valid ? (stale ? "warn" : "good") : "bad"}>
        {valid
          ? `The digest fits the ${secretNumber === 1 ? "newest" : "previous"} secret.`
          : `${words?.reason ?? ""} ${words?.fix ?? ""}`}
        {clock !== undefined && ` ${clock.reason} ${clock.fix}`}
      </Notice>
      {signedText !== "" && (
        <>
          <p>Signed text, {signedBytes.toLocaleString("en")} bytes:</p>
          <pre class="signed-text" dir="ltr" tabIndex={0} role="group" aria-label="Signed text">
            {signedText}
          </pre>
        </>
      )}
    </div>
  );
}
