import type { Place, PlaceState, QueueOptions } from "./types.js";
/** The event of the element. */
export type VestibuleStateEvent = CustomEvent<PlaceState>;
/** Attributes and properties of the element, for the JSX of a framework. */
export interface VestibuleLineAttributes {
    queue: string;
    base?: string | undefined;
    confirm?: QueueOptions["confirm"];
    return?: string | undefined;
    options?: Partial<QueueOptions>;
    "onvestibule-state"?: (event: VestibuleStateEvent) => void;
}
declare global {
    interface HTMLElementTagNameMap {
        "vestibule-line": VestibuleLine;
    }
    interface GlobalEventHandlersEventMap {
        "vestibule-state": VestibuleStateEvent;
    }
}
declare const VestibuleLine_base: {
    new (): HTMLElement;
    prototype: HTMLElement;
};
/** `<vestibule-line queue base confirm return>`. */
export declare class VestibuleLine extends VestibuleLine_base {
    #private;
    static observedAttributes: string[];
    /** Options in addition to the attributes, such as `headers`. Set them before the element is in the page. */
    options: Partial<QueueOptions>;
    /** The place, while the element is in the page. */
    place: Place | undefined;
    connectedCallback(): void;
    disconnectedCallback(): void;
    attributeChangedCallback(): void;
}
export {};
