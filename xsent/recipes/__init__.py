"""One LightningModule per method."""
