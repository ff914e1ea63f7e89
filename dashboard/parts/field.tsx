import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { ApiError } from "../api";

export interface FieldProps {
  readonly label: string;
  /** As the server names it. */
  readonly name: string;
  readonly value: string;
  onText(text: string): void;
  /** What the server refused, shown when it is about this field. */
  readonly error?: ApiError | undefined;
  readonly hint?: ComponentChildren;
  readonly type?: "text" | "url" | "email" | "password";
  readonly required?: boolean;
  readonly maxLength?: number;
  readonly placeholder?: string;
}

/** A labelled line of text, with its hint and its fault read out along with it. */
export function Field({ label, name, value, onText, error, hint, ...more }: FieldProps) {
  const id = useId();
  const fault = error?.field === name ? error.message : undefined;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        name={name}
        value={value}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
        aria-describedby={`${id}-hint ${id}-fault`}
        aria-invalid={fault !== undefined}
        autocomplete="off"
        spellcheck={false}
        // Preact tells inputs apart by their type, which is not known here.
        {...(more as Omit<typeof more, "type"> & { readonly type?: "text" })}
      />
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
      <p class="fault" id={`${id}-fault`} role="alert">
        {fault}
      </p>
    </div>
  );
}

/** A refusal that is about no field of its form. */
export function FormFault({
  error,
  fields = [],
}: {
  readonly error: ApiError | undefined;
  readonly fields?: readonly string[];
}) {
  const shown = error !== undefined && !fields.includes(error.field ?? "");
  return (
    <p class="fault" role="alert">
      {shown && error.message}
    </p>
  );
}
