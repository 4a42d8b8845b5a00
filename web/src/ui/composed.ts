/** A key that an input method took: in Safari the composition has ended when its Enter is told. */
export function isComposed({ isComposing, keyCode }: KeyboardEvent): boolean {
  return isComposing || keyCode === 229;
}
