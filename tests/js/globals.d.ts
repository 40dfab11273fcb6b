// What the pages carry and our scripts did not define.
interface Window {
  MathJax?: { startup?: { promise: Promise<void> }; typesetPromise(elements: Element[]): Promise<void> };
}
declare const DOCUMENTATION_OPTIONS: { SHOW_SEARCH_SUMMARY: boolean };
