import type { Component, System } from "swagger-ui-dist/swagger-ui-es-bundle.js";

/** The parts of the OpenAPI document that the page changes. */
export interface ReferenceDocument {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}
interface Schema {
  title?: string;
  description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly "x-extensible-enum"?: readonly string[];
}

/**
 * Adds to the document what Swagger UI does not show by itself: the names of the schemas, and the known values of
 * extensible enums.
 */
export function addNames({ components }: ReferenceDocument): void {
  for (const [name, schema] of Object.entries(components.schemas)) {
    schema.title = name;
    for (const field of Object.values(schema.properties ?? {})) {
      const known = field["x-extensible-enum"]?.map((value) => `\`${value}\``);
      if (known !== undefined) field.description += ` Known today: ${known.join(", ")}.`;
    }
  }
}

/** A plugin that replaces the parts of Swagger UI that ask for a secret or are not accessible. */
export const ownParts = ({ React: { createElement: h } }: System) => ({
  components: {
    /**
     * Swagger UI shows only these parts, because the page itself contains the title, the introduction and the list of
     * calls.
     */
    Page: ({ getComponent }: System) =>
      h(
        "div",
        { className: "swagger-ui" },
        ["operations", "Webhooks", "Models"].map((name) => h(getComponent(name, true), { key: name })),
      ),
    // This component replaces Swagger UI's own component, which puts a link inside a button. Such a link is not
    // accessible.
    DeepLink: ({ text }: { readonly text: unknown }) => h("span", null, text),
    authorizeOperationBtn: () => null,
  },
  wrapComponents: {
    /**
     * Adds a label to the selector of examples, because Swagger UI's own component has no label that a screen reader
     * can find.
     */
    ExamplesSelect:
      (Original: Component) =>
      ({ examples, ...rest }: { readonly examples: { readonly size: number } }) =>
        h(
          "label",
          { hidden: examples.size < 2 },
          "Example ",
          h(Original, { ...rest, examples, showLabels: false }),
        ),
  },
});
