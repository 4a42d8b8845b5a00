import type { ComponentType } from "preact";
import { useEffect, useErrorBoundary, useState } from "preact/hooks";
import { useApp } from "./app.ts";
import { explain } from "./rpc/api.ts";
import { matchPath, type RouteParams } from "./router.ts";
import { NOT_FOUND, type Route, ROUTES } from "./routes.tsx";
import { Failed, Loading } from "./ui/states.tsx";

function routeOf(path: string): { route: Route; params: RouteParams } {
  for (const route of ROUTES) {
    const params = matchPath(route.path, path);
    if (params !== undefined) return { route, params };
  }
  return { route: NOT_FOUND, params: {} };
}

/** The view that the address means; another address of the same route is another view. */
export function View() {
  const path = useApp().router.path.value;
  const { route, params } = routeOf(path);
  return <Loaded key={path} route={route} params={params} />;
}

function Loaded({ route, params }: { route: Route; params: RouteParams }) {
  const [view, setView] = useState<{ Body: ComponentType<{ params: RouteParams }> }>();
  const [failure, setFailure] = useState<unknown>();
  const [broken, reset] = useErrorBoundary((error) => console.error(error));
  useEffect(() => {
    let gone = false;
    route.load().then(
      ({ default: Body }) => gone || setView({ Body }),
      (error) => gone || setFailure(error),
    );
    return () => gone = true;
  }, [route]);
  if (broken !== undefined) return <Failed message={explain(broken)} onRetry={reset} />;
  // A daemon of another version has other files: the page itself must come anew.
  if (failure !== undefined) {
    return <Failed message={explain(failure)} onRetry={() => location.reload()} />;
  }
  return view ? <view.Body params={params} /> : <Loading />;
}
