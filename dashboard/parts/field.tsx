import type { ComponentChildren } from "preact";
import { useContext, useId } from "preact/hooks";
import { FormFaults } from "./form";

export interface FieldProps {
  readonly label: string;
  /** The name by which the server's errors refer to the field. */
  readonly name: string;
  readonly value: string;
  onText(text: string): void;
  readonly hint?: ComponentChildren;
  readonly type?: "text" | "url" | "email" | "password";
  readonly required?: boolean;
  readonly maxLength?: number;
  readonly placeholder?: string;
}

/** A labelled text input in a `Form`. Screen readers read out the hint and the error with the input. */
export function Field({ label, name, value, onText, hint, ...more }: FieldProps) {
  const id = useId();
  const fault = useContext(FormFaults)[name];
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
      <p class="fault" id={`${id}-fault`} role="alert">
        {fault}
      </p>
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
    </div>
  );
}
