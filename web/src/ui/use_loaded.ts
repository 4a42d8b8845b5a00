import type { ComponentType } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { useApp } from "../app.ts";

interface Loaded<P> {
  /** Undefined until it is there. */
  Part?: ComponentType<P>;
  /** Why it will not be there. */
  failure?: unknown;
}

/**
 * Loads a component when it is first drawn. One that was loaded before is there before the next
 * paint.
 *
 * @param load imports it; another function is another component.
 */
export function useLoaded<P>(load: () => Promise<ComponentType<P>>): Loaded<P> {
  const app = useApp();
  const [loaded, setLoaded] = useState<Loaded<P>>({});
  useLayoutEffect(() => {
    let gone = false;
    app.load(load).then(
      (Part) => gone || setLoaded({ Part }),
      (failure) => gone || setLoaded({ failure }),
    );
    return () => gone = true;
  }, [load]);
  return loaded;
}
