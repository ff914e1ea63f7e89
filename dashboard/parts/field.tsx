import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { ApiError } from "../api";

export interface FieldProps {
  readonly label: string;
  /** The name that the server's errors use for the field. */
  readonly name: string;
  readonly value: string;
  onText(text: string): void;
  /** The error of the request. It is shown here if it is about this field. */
  readonly error?: ApiError | undefined;
  readonly hint?: ComponentChildren;
  readonly type?: "text" | "url" | "email" | "password";
  readonly required?: boolean;
  readonly maxLength?: number;
  readonly placeholder?: string;
}

/** A labelled text input. Screen readers read out the hint and the error with the input. */
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
        // Preact has a different TypeScript type for each kind of input, and the kind is not known here.
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

/** Shows an error that is not about one of the form's fields. */
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
