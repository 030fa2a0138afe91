// The element in React's JSX. It has types alone:
//
//   import "vestibule-client/element";
//   import type {} from "vestibule-client/react";

import type * as React from "react";
import type { VestibuleLine, VestibuleLineAttributes } from "./element.js";

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "vestibule-line": React.DetailedHTMLProps<React.HTMLAttributes<VestibuleLine>, VestibuleLine> & VestibuleLineAttributes;
    }
  }
}
