import type { ComponentChildren } from "preact";
import { useErrorBoundary } from "preact/hooks";

interface BoundaryProps {
  /** What is shown in place of children that cannot be drawn. */
  instead(error: unknown): ComponentChildren;
  children: ComponentChildren;
}

/** Keeps an error in its children from taking down the view around them. */
export function Boundary({ instead, children }: BoundaryProps) {
  const [error] = useErrorBoundary((error) => console.error(error));
  return <>{error === undefined ? children : instead(error)}</>;
}
