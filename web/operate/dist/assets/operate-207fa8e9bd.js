document.title="Vestibule";
