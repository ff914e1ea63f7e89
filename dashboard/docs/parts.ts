import type { Component, System } from "swagger-ui-dist/swagger-ui-es-bundle.js";

type Source = Pick<System, "specSelectors" | "getComponent">;
interface Schema {
  readonly $$ref?: string;
  readonly description?: string;
  readonly "x-extensible-enum"?: readonly string[];
}

/** Replaces the parts of Swagger UI that need inline HTML, ask for a secret, or are not accessible. */
export function parts({ React: { createElement: h } }: System) {
  /**
   * Shows text, with the parts in backticks as code. Swagger UI's own component sets `innerHTML`, which our content
   * security policy blocks. Swagger UI puts the word "Example" into `<i>`.
   */
  function Markdown({ source = "" }: { readonly source?: string }) {
    const words = source
      .replaceAll(/<\/?i>/g, "")
      .split("`")
      .map((part, index) => (index % 2 === 1 ? h("code", null, part) : part));
    return h("div", { className: "markdown" }, ...words);
  }

  function Page({ specSelectors, getComponent }: Source) {
    const show = (name: string) => h(getComponent(name, true), { key: name });
    const text = (source: string) => h(Markdown, { key: source, source });
    if (specSelectors.loadingStatus() !== "success") {
      return h("main", { className: "swagger-ui" }, show("errors"));
    }
    const { title, version, description } = specSelectors.info().toJS();
    const schemes = Object.values(specSelectors.securityDefinitions().toJS());
    return h(
      "main",
      { className: "swagger-ui" },
      h("h1", null, title, " ", h("small", null, version)),
      text(description),
      specSelectors
        .servers()
        .toJS()
        .map(({ url }) => text(`Base URL: \`${url}\``)),
      h("p", null, h("a", { href: "openapi.json" }, "The same reference as OpenAPI 3.1")),
      h("h2", null, "Authentication"),
      schemes.map((scheme) => text(`Header \`${scheme.name}\`: ${scheme.description}`)),
      h("h2", null, "Requests and pushes"),
      ["operations", "Webhooks", "Models"].map(show),
    );
  }

  /**
   * Shows the name that the OpenAPI document gives to a schema. Swagger UI's own component shows no name for the schema
   * of a body, and only a number for each alternative of a `oneOf`.
   */
  const KeywordTitle =
    (Original: Component) =>
    ({ title, schema }: { readonly title: unknown; readonly schema: Schema }) => {
      const isNamed = typeof title === "string" ? /^[^#]/.test(title) : Boolean(title);
      return h(Original, { title: isNamed ? title : (schema.$$ref?.split("/").at(-1) ?? "Body"), schema });
    };

  /** Adds the known values, which are in `x-extensible-enum`, to the description of a field. */
  const KeywordDescription =
    (Original: Component) =>
    ({ schema }: { readonly schema: Schema }) => {
      const known = schema["x-extensible-enum"]?.map((value) => `\`${value}\``).join(", ");
      const description = `${schema.description ?? ""} Known today: ${known}.`;
      return h(Original, { schema: known === undefined ? schema : { ...schema, description } });
    };

  /** Labels the choice of an example. Swagger UI's own component has no label that a screen reader can find. */
  const ExamplesSelect =
    (Original: Component) =>
    ({ examples, ...rest }: { readonly examples: { readonly size: number } }) =>
      h(
        "label",
        { hidden: examples.size < 2 },
        h("span", { className: "sample-choice" }, "Example "),
        h(Original, { ...rest, examples, showLabels: false }),
      );

  return {
    components: {
      Page,
      Markdown,
      // Swagger UI's own component puts a link into a button, which is not accessible.
      DeepLink: ({ text }: { readonly text: unknown }) => h("span", null, text),
      authorizeOperationBtn: () => null,
    },
    wrapComponents: {
      ExamplesSelect,
      JSONSchema202012KeywordTitle: KeywordTitle,
      JSONSchema202012KeywordDescription: KeywordDescription,
    },
  };
}
