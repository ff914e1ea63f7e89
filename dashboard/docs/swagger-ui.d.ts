/** The parts of Swagger UI that the page uses. The package contains no types. */
declare module "swagger-ui-dist/swagger-ui-es-bundle.js" {
  export type Component = (props: never) => object | null;
  export interface System {
    readonly React: {
      createElement(type: string | Component, props: object | null, ...children: unknown[]): object;
    };
    /**
     * Returns the Swagger UI component with this name. The component reads the OpenAPI document from Swagger UI's
     * store.
     */
    getComponent(name: string, isConnected: true): Component;
  }
  interface Shown {
    readonly layoutActions: {
      /** Opens or closes the part of the page with this key, e.g. ["operations", "inbound", "postEvent"]. */
      show(key: readonly string[], isOpen: boolean): void;
    };
  }
  export default function SwaggerUI(options: object): Shown;
}
