import { useState } from "preact/hooks";
import { ActionButton } from "../parts/action-button";
import { Field } from "../parts/field";
import { Form } from "../parts/form";
import { Notice } from "../parts/notice";
import { PageHeading } from "../parts/page-heading";
import { signIn } from "../session";
import { useAction } from "../use-action";

export function SignInPage({ why }: { readonly why: string | undefined }) {
  const [token, setToken] = useState("");
  const entering = useAction(async () => signIn(token.trim()));
  return (
    <div class="narrow">
      <PageHeading title="Sign in" />
      {why !== undefined && <Notice tone="warn">{why}</Notice>}
      <Form
        class="card"
        action={entering}
        fields={["token"]}
        {...(token.trim() === "" ? { missing: { token: "Enter an operator's token." } } : {})}
      >
        <Field
          label="Operator's token"
          name="token"
          type="password"
          value={token}
          onText={setToken}
          required
          hint={
            <>
              A token of the role <code>operator</code> from core's <code>CORE_TOKENS</code> or{" "}
              <code>CORE_TOKENS_FILE</code>. These commands print a link that signs you in:{" "}
              <code>sudo chat-bridge sign-in</code> on a machine with systemd,{" "}
              <code>docker compose run --rm operator sign-in</code> with Docker, and <code>npm start</code>,
              whose token <code>npm start -- --commands</code> prints.
            </>
          }
        />
        <ActionButton type="submit" look="primary" pending={entering.pending}>
          Sign in
        </ActionButton>
      </Form>
      <p class="hint">Only the server checks and keeps the token. Your browser gets a session.</p>
    </div>
  );
}
