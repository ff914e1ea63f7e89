/** The parts of Swagger UI that the page uses. The package contains no types. */
declare module "swagger-ui-dist/swagger-ui-es-bundle.js" {
  type Element = object;
  export type Component = (props: never) => Element | null;

  /** An Immutable.js collection. */
  interface Collection<T> {
    toJS(): T;
  }
  export interface System {
    readonly React: {
      createElement(type: string | Component, props: object | null, ...children: unknown[]): Element;
    };
    readonly specSelectors: {
      loadingStatus(): string;
      info(): Collection<Readonly<Record<"title" | "version" | "description", string>>>;
      servers(): Collection<readonly { readonly url: string }[]>;
      securityDefinitions(): Collection<
        Readonly<Record<string, Readonly<Record<"name" | "description", string>>>>
      >;
    };
    /** Returns Swagger UI's component of this name. The component reads the OpenAPI document from Swagger UI's store. */
    getComponent(name: string, isConnected: true): Component;
  }
  interface Plugin {
    readonly components: Readonly<Record<string, Component>>;
    readonly wrapComponents: Readonly<Record<string, (original: Component) => Component>>;
  }
  interface Options {
    readonly dom_id: string;
    readonly url: string;
    /** The component that shows the whole page. */
    readonly layout: string;
    readonly deepLinking: boolean;
    readonly defaultModelRendering: "example" | "model";
    readonly defaultModelExpandDepth: number;
    readonly syntaxHighlight: false;
    /** The HTTP methods of the requests that the user can send from the page. */
    readonly supportedSubmitMethods: readonly string[];
    readonly plugins: readonly ((system: System) => Plugin)[];
    onComplete(): void;
  }
  export default function SwaggerUI(options: Options): System;
}
