import type { Component, System } from "swagger-ui-dist/swagger-ui-es-bundle.js";

/** The parts of the OpenAPI document that the page itself shows. */
export interface ReferenceDocument {
  readonly info: Readonly<Record<"title" | "version" | "description", string>>;
  readonly servers: readonly { readonly url: string }[];
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly securitySchemes: Readonly<Record<string, Readonly<Record<"name" | "description", string>>>>;
  };
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

/** Returns a plugin that replaces the parts of Swagger UI that ask for a secret or are not accessible. */
export const partsFor =
  ({ info, servers, components: { securitySchemes } }: ReferenceDocument) =>
  ({ React: { createElement: h } }: System) => ({
    components: {
      Page({ getComponent }: System) {
        const show = (name: string) => h(getComponent(name, true), { key: name });
        const link = (href: string, title: string) => h("a", { href }, title);
        const text = (source: string) => h(getComponent("Markdown", true), { key: source, source });
        return h(
          "main",
          { className: "swagger-ui" },
          h("h1", null, info.title, " ", h("small", null, info.version)),
          text(info.description),
          servers.map(({ url }) => text(`Base URL: \`${url}\``)),
          h(
            "p",
            null,
            "To begin a bridge, read ",
            link("/guides/bridge-guide", "Writing a bridge"),
            ". See also: ",
          ),
          h(
            "ul",
            null,
            h("li", null, link("/guides/events", "Event reference"), ", with an example of each event"),
            h("li", null, link("/guides/bridge-kit", "The kit for bridges"), " in TypeScript"),
            h(
              "li",
              null,
              link("/guides/troubleshooting", "Troubleshooting"),
              ", with the causes of each error",
            ),
            h("li", null, link("/guides", "All guides")),
            h("li", null, link("openapi.json", "The same reference as OpenAPI 3.1")),
          ),
          h("h2", null, "Authentication"),
          Object.values(securitySchemes).map((each) => text(`Header \`${each.name}\`: ${each.description}`)),
          h("h2", null, "Requests and pushes"),
          ["operations", "Webhooks", "Models"].map(show),
        );
      },
      // Swagger UI's own component puts a link inside a button, and this is not accessible.
      DeepLink: ({ text }: { readonly text: unknown }) => h("span", null, text),
      authorizeOperationBtn: () => null,
    },
    wrapComponents: {
      /**
       * Adds a label to the selector of examples. Swagger UI's own component has no label that a screen reader can
       * find.
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
